d = "tests"
