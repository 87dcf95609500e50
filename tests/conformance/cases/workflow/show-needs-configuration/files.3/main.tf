resource "terraform_data" "a" {
  gone = var.gone
}
