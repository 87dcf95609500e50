variable "x" {
  default = "d"
}
resource "terraform_data" "a" {
  input = var.x
}
output "x" {
  value = var.x
}
