terraform {
  required_providers {
    lab = {
      source = "weft.test/lab/lab"
    }
  }
}

variable "name" { default = "a" }
variable "n" { default = 1 }
resource "lab_thing" "a" {
  count = var.n
  name  = "${var.name}-${count.index}"
}
data "lab_things" "all" {
  depends_on = [lab_thing.a]
}
output "ids" { value = lab_thing.a[*].id }
output "names" { value = data.lab_things.all.names }
