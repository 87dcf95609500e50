variable "n" { default = 1 }
locals { l = 1 }
resource "terraform_data" "a" {
  count = 2
  input = var.n
}
output "n" { value = var.n }
