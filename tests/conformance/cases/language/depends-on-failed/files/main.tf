resource "terraform_data" "bad" {
  depends_on = [var.none]
}
resource "terraform_data" "a" {
  depends_on = [terraform_data.bad, var.none2]
}
resource "terraform_data" "c" {
  input = terraform_data.bad.id
  depends_on = [var.none3]
}
