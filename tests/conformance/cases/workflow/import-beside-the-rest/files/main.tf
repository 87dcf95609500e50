terraform {
  required_providers {
    lab = {
      source = "weft.test/lab/lab"
    }
  }
}

resource "lab_thing" "here" {
  name = "here"
}

data "lab_things" "all" {
}

output "names" {
  value = data.lab_things.all.names
}
