variable "d" {
  default = false
}
resource "terraform_data" "a" {
  lifecycle {
    destroy = var.d
  }
}
