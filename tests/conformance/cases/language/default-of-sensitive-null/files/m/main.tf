variable "v" {
 type = map(string)
 nullable = false
 default = { k = "d" }
}
resource "terraform_data" "r" {
 for_each = var.v
 input = each.value
}
output "o" { value = issensitive(var.v) }
output "v" { value = 1 }
