terraform {
  required_providers {
    oldlab = { source = "weft.test/lab/oldlab" }
  }
}
resource "oldlab_box" "b" {
  name        = "b"
  conflicts_a = "x"
  conflicts_b = "y"
  lid {
    color = "a"
  }
  lid {
    color = "b"
  }
}

