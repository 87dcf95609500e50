resource "terraform_data" "bad" {
  input = var.none
}
resource "terraform_data" "a" {
  depends_on = [terraform_data.bad.id]
}
resource "terraform_data" "b" {
  depends_on = [terraform_data.bad, var.none]
}
