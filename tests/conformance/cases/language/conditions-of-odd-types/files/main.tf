
resource "lab_thing" "a" {
  name = "a"
  lifecycle {
    postcondition {
      condition = self.id
      error_message = "x"
    }
    postcondition {
      condition = self.endpoint
      error_message = "x"
    }
  }
}
output "o" {
  value = 1
  precondition {
    condition = lab_thing.a.revision
    error_message = "x"
  }
}
variable "v" {
  default = "true"
  validation {
    condition = var.v
    error_message = "v"
  }
}
