b = "more"
