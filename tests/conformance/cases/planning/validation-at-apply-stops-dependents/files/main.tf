variable "v" {
  default = 3
  validation {
    condition = var.v > length(terraform_data.u.id)
    error_message = "v"
  }
}
resource "terraform_data" "u" {}
locals { l = var.v + 1 }
resource "terraform_data" "w" { input = local.l }
resource "terraform_data" "x" { input = "free" }
output "o" { value = local.l }
output "k" { value = 1 }
