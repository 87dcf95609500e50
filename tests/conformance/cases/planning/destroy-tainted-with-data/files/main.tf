terraform {
  required_providers {
    lab = {
      source = "weft.test/lab/lab"
    }
  }
}

resource "lab_thing" "many" {
  count = 2
  name  = "t${count.index}"
}
data "lab_things" "all" {
  depends_on = [lab_thing.many]
}
data "lab_region" "r" {
}
