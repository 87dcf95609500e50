resource "terraform_data" "z" {
  input = 3
}
resource "terraform_data" "d" {
  triggers_replace = [3]
  lifecycle {
    replace_triggered_by = [terraform_data.z]
  }
}
