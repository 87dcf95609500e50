variable "size" {
  type = string
}
variable "name" {
  default = "n"
}
resource "terraform_data" "t" {
  count = 1
  input = var.size
}
output "o" {
  value     = terraform_data.t[*].output
  sensitive = true
}
