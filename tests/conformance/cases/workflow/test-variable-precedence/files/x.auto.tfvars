c = "auto"
d = "auto"
