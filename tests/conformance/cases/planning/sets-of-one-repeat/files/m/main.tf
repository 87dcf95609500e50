variable "v" { type = set(string) }
output "o" { value = [for x in var.v : 1] }
resource "terraform_data" "r" {
  count = length([for x in var.v : 1])
}
