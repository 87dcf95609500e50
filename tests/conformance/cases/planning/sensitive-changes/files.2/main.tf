terraform {
  required_providers {
    lab = {
      source = "weft.test/lab/lab"
    }
  }
}

resource "lab_thing" "a" {
  name   = sensitive("b")
  color  = "red"
  secret = "s"
}
resource "terraform_data" "t" {
  input            = sensitive({ a = 1 })
  triggers_replace = sensitive(["u"])
}
