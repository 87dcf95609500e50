variable "x" {
  default = 1
}
resource "terraform_data" "t" {
  input = var.x
}
