terraform {
  required_providers {
    oldlab = {
      source = "weft.test/lab/oldlab"
    }
  }
}

resource "oldlab_box" "b" {
  name = "b"
}
output "i" { value = oldlab_box.b == null }
