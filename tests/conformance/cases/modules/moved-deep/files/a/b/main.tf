terraform {
  required_providers {
    lab = {
      source = "weft.test/lab/lab"
    }
  }
}
resource "lab_thing" "deep" {
  count = 2
  name = "deep${count.index}"
}
