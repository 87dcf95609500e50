variable "name" {
  type     = string
  nullable = false
}
resource "terraform_data" "t" {
  input = var.name
}
resource "terraform_data" "free" {
}
output "name" {
  value = var.name
}
