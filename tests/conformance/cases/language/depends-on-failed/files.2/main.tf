resource "terraform_data" "bad" {
  depends_on = [var.none]
}
resource "terraform_data" "x" {
  input = terraform_data.bad.id
  depends_on = [terraform_data.bad.id]
}
