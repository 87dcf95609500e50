terraform {
  required_providers {
    oldlab = {
      source = "weft.test/lab/oldlab"
    }
  }
}
resource "oldlab_box" "b" {
  name = "b"
  lid {
    color = "red"
  }
  item {
    name  = "i"
    count = 2
  }
  shelf {
    slot {
      width = 3
    }
  }
}
