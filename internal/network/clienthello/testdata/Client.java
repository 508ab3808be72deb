import java.net.Socket;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.SSLSocketFactory;

/** Begins a TLS handshake: Client ADDRESS PORT NAME. */
public class Client {
	public static void main(String[] args) throws Exception {
		SSLSocketFactory factory = (SSLSocketFactory) SSLSocketFactory.getDefault();
		Socket plain = new Socket(args[0], Integer.parseInt(args[1]));
		((SSLSocket) factory.createSocket(plain, args[2], plain.getPort(), true)).startHandshake();
	}
}
