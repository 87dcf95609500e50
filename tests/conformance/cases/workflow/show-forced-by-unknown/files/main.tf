terraform {
  required_providers {
    lab = {
      source = "weft.test/lab/lab"
    }
  }
}

resource "lab_thing" "t" {
  name = "t"
}
resource "lab_link" "l" {
  from = lab_thing.t.id
  to   = "x"
}
resource "terraform_data" "d" {
  triggers_replace = { id = lab_thing.t.id, list = [lab_link.l.id] }
}
