terraform {
  required_providers {
    lab = {
      source = "weft.test/lab/lab"
    }
  }
}

resource "lab_thing" "a" {
  name   = "a"
  color  = "red"
  labels = { k = "v", z = "z" }
}
resource "terraform_data" "t" {
  input            = { a = 1, b = "x" }
  triggers_replace = ["t"]
}
