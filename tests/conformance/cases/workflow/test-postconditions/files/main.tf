terraform {
  required_providers {
    lab = {
      source = "weft.test/lab/lab"
    }
  }
}

variable "n" { default = 1 }
resource "lab_thing" "a" {
  count = 2
  name  = "a${count.index}"
  size  = var.n
  lifecycle {
    postcondition {
      condition     = self.size + self.revision < 3
      error_message = "Too big."
    }
  }
}
resource "lab_widget" "after" {
  title = lab_thing.a[0].name
  size  = lab_thing.a[0].size
}
data "lab_thing" "d" {
  name       = "a0"
  depends_on = [lab_thing.a]
  lifecycle {
    postcondition {
      condition     = self.size != 1
      error_message = "One."
    }
  }
}
output "o" {
  value = var.n
  precondition {
    condition     = data.lab_thing.d.size != 1
    error_message = "One again."
  }
}
