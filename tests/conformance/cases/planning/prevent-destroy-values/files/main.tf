variable "keep" {
  default = "null"
}
resource "terraform_data" "a" {
  lifecycle {
    prevent_destroy = var.keep
  }
}
resource "terraform_data" "b" {
  count = 1
  lifecycle {
    prevent_destroy = count.index == 0
  }
}
