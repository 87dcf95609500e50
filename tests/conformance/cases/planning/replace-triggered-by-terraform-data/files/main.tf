terraform {
  required_providers {
    lab = { source = "weft.test/lab/lab" }
  }
}

variable "v" { default = 1 }
resource "terraform_data" "t" {
  input = var.v
  triggers_replace = [var.v > 5]
}
resource "lab_thing" "x" {
  name = "x"
  lifecycle {
    replace_triggered_by = [terraform_data.t.output, terraform_data.t.id]
    create_before_destroy = true
  }
}
resource "terraform_data" "after" {
  triggers_replace = lab_thing.x.id
  input = { r = lab_thing.x.revision }
}
output "o" { value = terraform_data.after.output }
