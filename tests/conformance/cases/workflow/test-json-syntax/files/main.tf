variable "n" {
  type    = number
  default = 1
  validation {
    condition     = var.n < 10
    error_message = "Too many."
  }
}
resource "terraform_data" "a" { input = var.n }
output "n" { value = terraform_data.a.output }
