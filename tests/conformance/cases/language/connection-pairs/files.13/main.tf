resource "terraform_data" "a" {
  connection {
    host = "h"
    port = self.nope
  }
  provisioner "local-exec" {
    command = "true"
    connection {
      port = 1
    }
  }
}
