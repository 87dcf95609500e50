l = nope.x
