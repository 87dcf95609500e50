terraform {
  required_providers {
    lab = {
      source = "weft.test/lab/lab"
    }
  }
}

variable "name" {
  validation {
    condition     = length(var.name) < 5
    error_message = "Long."
  }
}
resource "lab_widget" "w" { title = var.name }
data "lab_region" "r" {
  depends_on = [lab_widget.w]
}
output "name" { value = data.lab_region.r.name }
output "other" { value = "o" }
