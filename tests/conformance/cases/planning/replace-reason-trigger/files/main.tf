resource "terraform_data" "z" {
  input = 2
}
resource "terraform_data" "d" {
  triggers_replace = [2]
  lifecycle {
    replace_triggered_by = [terraform_data.z]
  }
}
