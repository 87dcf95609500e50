variable "u" {
  type = string
  validation {
    condition = length(var.u) > 500
    error_message = "u is ${length(var.u)} long"
  }
}
resource "terraform_data" "in" {
  input = var.u
}
output "o" {
  value = terraform_data.in.output
}
