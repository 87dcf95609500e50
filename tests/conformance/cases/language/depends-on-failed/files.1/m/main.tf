variable "in" {
}
resource "terraform_data" "i" {
  input = var.none6
}
