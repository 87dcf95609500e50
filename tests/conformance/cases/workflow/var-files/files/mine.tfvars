e = "mine"
unknown1 = 1
unknown2 = 1
unknown3 = 1
