l = var.q
