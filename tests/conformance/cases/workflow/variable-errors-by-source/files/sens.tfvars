s = "abc"
