variable "size" {
  type    = number
  default = 5
}
resource "terraform_data" "t" {
  count = var.size
}
output "o" {
  sensitive = false
}
