terraform {
  required_providers {
    lab = {
      source = "weft.test/lab/lab"
    }
  }
}

variable "n" { default = 1 }
data "lab_region" "r" {
  lifecycle {
    precondition {
      condition     = var.n != 2
      error_message = "Two."
    }
    postcondition {
      condition     = self.name == "default" && var.n != 3
      error_message = "Three."
    }
  }
}
ephemeral "lab_token" "t" {
  name = "t"
  lifecycle {
    precondition {
      condition     = var.n != 4
      error_message = "Four."
    }
  }
}
resource "lab_widget" "w" { title = data.lab_region.r.name }
