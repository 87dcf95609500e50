terraform {
  required_providers {
    lab = { source = "weft.test/lab/lab" }
  }
}
import {
  to = lab_any.a
  id = "lab-0000000000a1"
}
resource "lab_any" "a" {
  value = { a = [1, "x"] }
}
output "echo" {
  value = lab_any.a.echo
}
output "t" {
  value = provider::lab::describe(lab_any.a.value)
}

