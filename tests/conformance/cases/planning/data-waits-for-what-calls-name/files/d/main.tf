terraform {
  required_providers {
    lab = {
      source  = "weft.test/lab/lab"
      version = "1.0.0"
    }
  }
}

data "lab_things" "q" {
  color = "red"
}
output "names" { value = data.lab_things.q.names }
