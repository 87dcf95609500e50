gate = "one"
