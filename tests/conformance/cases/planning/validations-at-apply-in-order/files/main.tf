variable "v" {
  type = object({ a = string, b = optional(number, 2) })
  default = { a = "x" }
  validation {
    condition = length(terraform_data.u.id) > 3
    error_message = "v"
  }
  validation {
    condition = length(terraform_data.u.id) > 300
    error_message = "second ${var.v.a}"
  }
  validation {
    condition = var.v.b > length(terraform_data.u.id)
    error_message = "third"
  }
}
resource "terraform_data" "u" {}
resource "terraform_data" "w" { input = var.v.b }
