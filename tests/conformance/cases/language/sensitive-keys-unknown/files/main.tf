variable "s" {
  default   = "x"
  sensitive = true
}
output "c" {
  value = { (var.s) = 1 }
}
output "d" {
  value = [for k, v in { (var.s) = 1 } : k]
}
resource "terraform_data" "f" {
  for_each = { (var.s) = 1 }
}
