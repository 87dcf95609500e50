n = 4
surplus = 2
