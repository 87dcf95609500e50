h = "more"
