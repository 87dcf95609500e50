terraform {
  required_providers {
    lab = {
      source = "weft.test/lab/lab"
    }
  }
}

variable "name" { default = "a" }
resource "lab_thing" "a" {
  name = var.name
  lifecycle {
    create_before_destroy = true
  }
}
resource "lab_widget" "w" {
  title = "w"
  lifecycle {
    replace_triggered_by = [lab_thing.a.id]
  }
}
output "id" { value = lab_thing.a.id }
variable "old" { default = "" }
