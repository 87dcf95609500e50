a = "root"
