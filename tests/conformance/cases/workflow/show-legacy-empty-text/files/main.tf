terraform {
  required_providers {
    lab = {
      source = "weft.test/lab/lab"
    }
    oldlab = {
      source = "weft.test/lab/oldlab"
    }
  }
}
resource "oldlab_box" "a" {
  name = "a"
  lid {
    color = "red"
  }
}
resource "oldlab_box" "b" {
  name = "b"
  body = ""
  tags = [""]
}
resource "lab_thing" "c" {
  name  = "c"
  color = ""
}
