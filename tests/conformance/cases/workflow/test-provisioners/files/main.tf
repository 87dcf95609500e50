resource "terraform_data" "a" {
  input = "x"
  provisioner "local-exec" {
    command = "echo made >> made.txt"
  }
  provisioner "local-exec" {
    when    = destroy
    command = "echo gone >> made.txt"
  }
}
